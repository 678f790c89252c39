// SPDX-License-Identifier: Apache-2.0
package service;

import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;
import io.netty.channel.socket.SocketChannel;
import io.netty.util.ReferenceCountUtil;
import java.util.concurrent.TimeUnit;

/**
 * Closes a connection so that what was sent on it arrives: with bytes unread it would be reset, and the client might
 * lose the answer. It is first in the pipeline, and tells the others of bytes by an event.
 */
final class Lingering extends ChannelDuplexHandler {
  /** Something has come. */
  static final Object BYTES = new Object();

  /** How long a connection that is closed still takes what its client was sending. */
  private static final long SECONDS = 1;

  private boolean closing;

  @Override
  public void close(ChannelHandlerContext context, ChannelPromise promise) {
    if (closing || !context.channel().isActive()) {
      context.close(promise);
      return;
    }
    closing = true;
    ((SocketChannel) context.channel()).shutdownOutput();
    context.channel().closeFuture().addListener(closed -> promise.trySuccess());
    context.executor().schedule(() -> context.close(), SECONDS, TimeUnit.SECONDS);
    context.channel().config().setAutoRead(true);
  }

  @Override
  public void channelRead(ChannelHandlerContext context, Object bytes) {
    if (closing) {
      ReferenceCountUtil.release(bytes);
      return;
    }
    context.fireUserEventTriggered(BYTES);
    context.fireChannelRead(bytes);
  }
}
