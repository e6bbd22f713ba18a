import assert from "node:assert/strict";
import { test } from "node:test";

import { Broadcast } from "../src/broadcast.js";
import { DetachedError, UsageError } from "../src/error.js";
import { EventFrame } from "../src/event.js";
import { type Overflow, Queue as Sized } from "../src/queue.js";
import { failure, settle, soon } from "./support/agent.js";

/** A queue of plain values with the sizes and keys of the tests. */
class Queue<T> {
  readonly #queue: Sized<{ value: T; size: number; key: string | undefined }>;
  constructor(cap: number, overflow: Overflow) {
    this.#queue = new Sized(cap, overflow);
  }
  set isReachable(is: boolean) {
    this.#queue.isReachable = is;
  }
  push(value: T, size: number, key: string | undefined): string {
    return this.#queue.push({ value, size, key });
  }
  next(): Promise<IteratorResult<T, undefined>> {
    return this.#queue.next((item) => item.value);
  }
  room(size: number): Promise<void> {
    return this.#queue.waitForRoom(size);
  }
  close(error?: unknown): void {
    this.#queue.close(error);
  }
  limitWait(patience: number): void {
    this.#queue.limitWait(patience);
  }
  drained(patience: number): Promise<void> {
    return this.#queue.drained(patience);
  }
}

async function rest<T>(queue: Queue<T>): Promise<T[]> {
  const items: T[] = [];
  for (;;) {
    const result = await soon(queue.next());
    if (result.done) return items;
    items.push(result.value);
  }
}

test("items come in order, then the end, again and again", async () => {
  const queue = new Queue<number>(100, "block");
  const first = queue.next();
  for (let item = 0; item < 3000; item++) queue.push(item, 0, undefined);
  queue.close();
  assert.deepEqual(await first, { done: false, value: 0 });
  assert.equal((await rest(queue)).length, 2999);
  assert.deepEqual(await rest(queue), []);
});

test("an error comes once, after the items", async () => {
  const queue = new Queue<number>(100, "block");
  queue.push(1, 1, undefined);
  queue.close(new Error("over"));
  assert.equal((await queue.next()).value, 1);
  assert.match(String(await failure(queue.next())), /over/);
  assert.equal((await queue.next()).done, true);
});

test("block: the pusher waits until there is room", async () => {
  const queue = new Queue<string>(10, "block");
  assert.equal(queue.push("large", 50, undefined), "queued", "an item larger than the queue is taken when it is empty");
  assert.equal(queue.push("small", 1, undefined), "full");
  let room = false;
  void queue.room(1).then(() => (room = true));
  await settle();
  assert.equal(room, false);
  await queue.next();
  await settle();
  assert.equal(room, true);
});

test("coalesce: a snapshot replaces the newest of its kind, and nothing moves across others", async () => {
  const queue = new Queue<string>(4, "coalesce");
  queue.push("u1", 2, "update");
  queue.push("end", 1, undefined);
  queue.push("u2", 1, "update");
  assert.equal(queue.push("u3", 2, "update"), "queued");
  assert.equal(queue.push("other", 2, undefined), "full");
  queue.close();
  assert.deepEqual(await rest(queue), ["u1", "end", "u3"]);
});

test("without a reader nothing is queued, except for blocking subscribers", async () => {
  const all = new Queue<string>(2, "block");
  const few = new Queue<string>(2, "coalesce");
  const none = new Queue<string>(2, "detach");
  for (const queue of [all, few, none]) queue.isReachable = false;
  for (const item of ["u1", "u2", "u3"]) {
    assert.equal(all.push(item, 2, "update"), "queued");
    assert.equal(few.push(item, 2, "update"), "queued");
    none.push(item, 2, "update");
  }
  // An item that cannot replace a queued one waits for a reader.
  assert.equal(few.push("other", 2, undefined), "queued");
  await soon(few.room(2));
  for (const queue of [all, few, none]) {
    queue.isReachable = true;
    queue.close();
  }
  assert.deepEqual(await rest(all), ["u1", "u2", "u3"]);
  assert.deepEqual(await rest(few), ["u3", "other"]);
  assert.equal((await none.next()).value, "u1");
  assert.ok((await failure(none.next())) instanceof DetachedError);
});

test("detach: the subscriber drains its queue and receives the number of missed events", async () => {
  const queue = new Queue<string>(2, "detach");
  for (const item of ["a", "b", "c", "d"]) queue.push(item, 1, undefined);
  assert.equal((await queue.next()).value, "a");
  assert.equal((await queue.next()).value, "b");
  const error = await failure(queue.next());
  assert.ok(error instanceof DetachedError && error.dropped === 2 && error.kind === "detached");
});

test("an item that waits too long for space is dropped and the subscriber is notified", async () => {
  const queue = new Queue<string>(2, "block");
  queue.push("a", 2, undefined);
  const room = queue.room(2);
  queue.limitWait(1);
  await soon(room);
  assert.equal(queue.push("b", 2, undefined), "dropped");
  queue.close();
  assert.equal((await queue.next()).value, "a");
  const error = await failure(queue.next());
  assert.ok(error instanceof DetachedError && error.dropped === 1);
  assert.equal((await queue.next()).done, true);
});

test("a subscriber that takes something is waited for on and on", async () => {
  const queue = new Queue<number>(1, "block");
  queue.limitWait(40);
  const reading = (async () => {
    const items: number[] = [];
    for (let next = await queue.next(); !next.done; next = await queue.next()) {
      items.push(next.value);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    return items;
  })();
  for (let n = 0; n < 30; n++) {
    do await queue.room(1);
    while (queue.push(n, 1, undefined) === "full");
  }
  queue.close();
  assert.equal((await soon(reading)).length, 30);
});

test("an idle subscriber is waited for once, and again after its next read", async () => {
  const queue = new Sized<{ size: number; key: undefined }>(100_000, "block");
  const item = { size: 10_000, key: undefined };
  queue.push(item);
  assert.equal(queue.idle(), undefined, "little waits");
  for (let n = 0; n < 3; n++) queue.push(item);
  assert.ok(queue.idle() !== undefined);
  assert.equal(queue.idle(), undefined);
  await queue.next((taken) => taken);
  const idle = queue.idle();
  assert.ok(idle !== undefined);
  for (let n = 0; n < 3; n++) await queue.next((taken) => taken);
  await soon(idle);
  for (let n = 0; n < 3; n++) queue.push(item);
  const gone = queue.idle();
  assert.ok(gone !== undefined);
  queue.unsubscribe();
  await soon(gone);
});

test("drained waits for readers with a time limit", async () => {
  const queue = new Queue<string>(10, "block");
  queue.push("a", 1, undefined);
  queue.close();
  await soon(queue.drained(10));
  const taken = queue.drained(10_000);
  await rest(queue);
  await soon(taken);
});

test("a stream that never yields to the event loop buffers little for other readers", () => {
  const stream = new Broadcast(1 << 26, "block");
  stream.reader();
  const event = new EventFrame("message_update", {}, "x".repeat(1 << 18), undefined);
  for (let count = 0; count < 4; count++) stream.record(event);
  assert.equal(stream.reader().queued().length, 4);
  stream.record(event);
  assert.throws(() => stream.reader(), UsageError);
});
