// SPDX-License-Identifier: Apache-2.0
package service;

import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;
import io.netty.channel.socket.SocketChannel;
import io.netty.util.ReferenceCountUtil;
import java.time.Duration;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

/**
 * Closes a connection so that what was sent on it arrives: with bytes unread it would be reset, and the client might
 * lose the answer. It is first in the pipeline, and tells the others of bytes by an event.
 */
final class Lingering extends ChannelDuplexHandler {
  /** Something has come. */
  static final Object BYTES = new Object();

  /** How long a connection that is closed still waits for more of what its client was sending. */
  private static final long WAIT = Duration.ofSeconds(5).toNanos();
  /** And how long in all: a client that never stops shall not keep it. */
  private static final long MOST = Duration.ofSeconds(30).toNanos();

  private boolean closing;
  private long begin; // of closing, by System.nanoTime()
  private long latest; // bytes since then
  private Future<?> timer;

  @Override
  public void close(ChannelHandlerContext context, ChannelPromise promise) {
    if (closing || !context.channel().isActive()) {
      context.close(promise);
      return;
    }
    closing = true;
    begin = latest = System.nanoTime();
    ((SocketChannel) context.channel()).shutdownOutput();
    linger(context);
    context.channel().closeFuture().addListener(closed -> {
      timer.cancel(false);
      promise.trySuccess();
    });
    context.channel().config().setAutoRead(true);
  }

  private void linger(ChannelHandlerContext context) {
    long now = System.nanoTime();
    long left = Math.min(latest + WAIT - now, begin + MOST - now);
    if (left > 0) {
      timer = context.executor().schedule(() -> linger(context), left, TimeUnit.NANOSECONDS);
    } else {
      context.close();
    }
  }

  @Override
  public void channelRead(ChannelHandlerContext context, Object bytes) {
    if (closing) {
      latest = System.nanoTime();
      ReferenceCountUtil.release(bytes);
      return;
    }
    context.fireUserEventTriggered(BYTES);
    context.fireChannelRead(bytes);
  }
}
