// Output of a walk through all commands: one JSON line per command, and one at the end.
import { readFileSync } from "node:fs";

import { type Diagnostic, type JsonValue, UNKNOWN, type UnknownEvent } from "agentese";
import { check, shapes } from "agentese/check";

interface Declared {
  dialects: {
    name: string;
    revision: string;
    commands: { name: string; result: { type: string } | null; resultNullable: boolean }[];
    events: { name: string; payload: string }[];
  }[];
}

/** Compares received values with the declaration, and collects statistics. */
export class Report {
  readonly #results: Map<string, { type: string | undefined; nullable: boolean }>;
  readonly #payloads: Map<string, string>;
  readonly #events = new Map<string, number>();
  readonly #unknown: string[] = [];
  readonly #misfits: string[] = [];

  constructor(dialect: string, revision: string, model: string) {
    const { dialects } = JSON.parse(readFileSync(model, "utf8")) as Declared;
    const declared = dialects.find((each) => each.name === dialect && each.revision === revision);
    if (declared === undefined) throw new Error(`no dialect ${dialect}@${revision}`);
    this.#results = new Map(
      declared.commands.map(({ name, result, resultNullable }) => [name, { type: result?.type, nullable: resultNullable }]),
    );
    this.#payloads = new Map(declared.events.map(({ name, payload }) => [name, payload]));
  }

  /**
   * Runs the step for one command: `call` sends it, and `show` describes the response. A failure is
   * reported, and the walk continues.
   */
  async step<R>(command: string, call: () => Promise<R>, show: (answer: R) => string | Promise<string>): Promise<void> {
    try {
      const answer = await call();
      this.#fits(command, answer);
      tell({ command, ok: true, got: await show(answer) });
    } catch (error) {
      tell({ command, ok: false, got: String(error) });
    }
  }

  event(event: { type: string } | UnknownEvent): void {
    if (event.type === UNKNOWN) {
      this.#unknown.push(`event ${(event as UnknownEvent).name}`);
      return;
    }
    this.#events.set(event.type, (this.#events.get(event.type) ?? 0) + 1);
    const misfit = check(shapes, this.#payloads.get(event.type) ?? "", event as unknown as JsonValue);
    if (misfit) this.#misfits.push(`${event.type}.${misfit.path}: ${misfit.message}`);
  }

  diagnostic(odd: Diagnostic): void {
    if (odd.kind !== "unknown_frame") this.#misfits.push(JSON.stringify(odd));
  }

  end(): void {
    tell({ events: Object.fromEntries(this.#events), unknown: this.#unknown, misfits: this.#misfits });
  }

  #fits(command: string, answer: unknown): void {
    const declared = this.#results.get(command);
    if (declared?.type === undefined || (declared.nullable && answer === null)) return;
    const misfit = check(shapes, declared.type, answer as JsonValue);
    if (misfit) throw new Error(`the answer does not fit ${declared.type}: ${misfit.path}: ${misfit.message}`);
  }
}

function tell(line: object): void {
  process.stdout.write(`${JSON.stringify(line)}\n`);
}
