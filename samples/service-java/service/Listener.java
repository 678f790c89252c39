// SPDX-License-Identifier: Apache-2.0
package service;

import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.group.ChannelGroup;
import io.netty.channel.group.DefaultChannelGroup;
import io.netty.channel.nio.NioEventLoopGroup;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.handler.codec.http.HttpRequestDecoder;
import io.netty.handler.codec.http.HttpResponseEncoder;
import io.netty.util.concurrent.GlobalEventExecutor;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;

/** Where connections come. */
final class Listener extends ChannelInitializer<Channel> {
  private static final int CHUNK = 8 << 10; // bytes of a body that are handed on at a time
  private static final long LOOK = 50; // milliseconds between looks at what is open, at most
  private static final Duration CLOSE_TIME = Duration.ofMillis(200); // for clients to close too, at the end

  private final Front front;
  private final EventLoopGroup threads = new NioEventLoopGroup();
  private final ChannelGroup open = new DefaultChannelGroup(GlobalEventExecutor.INSTANCE);
  private final AtomicLong accepted = new AtomicLong();
  private final Channel channel;

  /** Listens from now on; fails with an IOException where the address cannot be had. */
  Listener(Front front) throws Exception {
    this.front = front;
    front.watch(open::size);
    InetSocketAddress address = new InetSocketAddress(front.options.host, front.options.port);
    if (address.isUnresolved()) {
      throw new IOException("cannot listen on " + address.getHostString() + ": there is no such host");
    }
    channel = new ServerBootstrap().group(threads).channel(NioServerSocketChannel.class).childHandler(this)
        .childOption(ChannelOption.TCP_NODELAY, true).bind(address).sync().channel();
  }

  @Override
  protected void initChannel(Channel connection) {
    accepted.incrementAndGet();
    open.add(connection);
    int most = front.options.connections;
    boolean tooMany = open.size() > most;
    if (open.size() > 2L * most) {
      connection.close(); // those that are told so are held too
      return;
    }
    connection.pipeline().addLast(new Lingering(),
        new HttpRequestDecoder(Refusal.MAX_HEADERS, Refusal.MAX_HEADERS, CHUNK), new HttpResponseEncoder(),
        new Connection(front, tooMany));
  }

  /** Host and port. */
  String address() {
    InetSocketAddress at = (InetSocketAddress) channel.localAddress();
    String host = at.getAddress().getHostAddress();
    return (host.contains(":") ? "[" + host + "]" : host) + ":" + at.getPort();
  }

  int open() {
    return open.size();
  }

  /** Returns once no request ran and no connection was open for a time; false: that took too long. */
  boolean isQuiet(Duration least, Duration most) throws InterruptedException {
    long begin = System.nanoTime();
    long since = begin;
    long before = accepted.get();
    while (true) {
      long now = System.nanoTime();
      if (accepted.get() != before || !open.isEmpty() || front.running() > 0) {
        before = accepted.get();
        since = now;
      } else if (now - since >= least.toNanos()) {
        return true;
      }
      if (now - begin > most.toNanos()) {
        return false;
      }
      Thread.sleep(Math.min(least.toMillis() / 20 + 1, LOOK));
    }
  }

  /** Closes what is open; what runs is cancelled. */
  void close() {
    channel.close().awaitUninterruptibly();
    open.close().awaitUninterruptibly(CLOSE_TIME.toMillis());
  }
}
