// SPDX-License-Identifier: Apache-2.0
package service;

import java.util.concurrent.CompletableFuture;
import java.util.function.BiFunction;

/** A path of the contract, and its method. */
enum Route {
  RECOMMEND("/recommend", "POST", Body.JSON, Needs.NOTHING, (front, x) -> x.service.recommend(x)),
  HEALTHZ("/healthz", "GET", Body.UNREAD, Needs.NOTHING, (front, x) -> done(front.healthy())),
  READYZ("/readyz", "GET", Body.UNREAD, Needs.NOTHING, (front, x) -> done(front.ready(x))),
  METRICS("/metrics", "GET", Body.UNREAD, Needs.NOTHING, (front, x) -> done(front.metrics(x))),
  RELOAD("/reload", "POST", Body.NONE, Needs.TOKEN, (front, x) -> done(x.service.reload(x))),
  ITEMS("/items", "POST", Body.JSON, Needs.WRITER, (front, x) -> done(x.service.changes.add(x))),
  ITEM("/items/{id}", "DELETE", Body.NONE, Needs.WRITER, (front, x) -> done(x.service.changes.remove(x))),
  PUBLISH("/publish", "POST", Body.NONE, Needs.WRITER, (front, x) -> done(x.service.changes.publish(x))),
  ROLLBACK("/rollback", "POST", Body.JSON, Needs.WRITER, (front, x) -> done(x.service.changes.rollBack(x))),
  COMPACT("/compact", "POST", Body.NONE, Needs.WRITER, (front, x) -> done(x.service.changes.compact(x))),
  VERSIONS("/versions", "GET", Body.UNREAD, Needs.LIVE, (front, x) -> done(x.service.changes.list()));

  /** What a request's body must be; NONE: none, or {}. */
  enum Body { JSON, NONE, UNREAD }

  /** Before anything else: the token; also a live catalogue, which this process writes; or any live catalogue. */
  enum Needs { NOTHING, TOKEN, WRITER, LIVE }

  static final String ITEM_PREFIX = "/items/"; // items are named by any text, slashes too

  final String path;
  final String method;
  final Body body;
  final Needs needs;
  private final BiFunction<Front, Exchange, CompletableFuture<Answer>> answer;

  Route(String path, String method, Body body, Needs needs,
      BiFunction<Front, Exchange, CompletableFuture<Answer>> answer) {
    this.path = path;
    this.method = method;
    this.body = body;
    this.needs = needs;
    this.answer = answer;
  }

  private static CompletableFuture<Answer> done(Answer answer) {
    return CompletableFuture.completedFuture(answer);
  }

  /** The route of a path, or null. */
  static Route of(Target target) {
    if (target.octets().startsWith(ITEM_PREFIX)) {
      return ITEM;
    }
    for (Route route : values()) {
      if (route.path.equals(target.octets()) && route != ITEM) {
        return route;
      }
    }
    return null;
  }

  /** Whether it is answered however many requests run. */
  boolean isProbe() {
    return this == HEALTHZ || this == READYZ || this == METRICS;
  }

  boolean isGuarded() {
    return needs == Needs.TOKEN || needs == Needs.WRITER;
  }

  CompletableFuture<Answer> answer(Front front, Exchange x) {
    return answer.apply(front, x);
  }
}
