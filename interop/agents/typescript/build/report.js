// What a walk tells: one JSON line per command, and one at the end.
import { readFileSync } from "node:fs";
import { UNKNOWN } from "agentese";
import { check, shapes } from "agentese/check";
/** Holds what comes against the declaration and keeps the account of it. */
export class Report {
    #results;
    #payloads;
    #events = new Map();
    #unknown = [];
    #misfits = [];
    constructor(dialect, model) {
        const { dialects } = JSON.parse(readFileSync(model, "utf8"));
        const declared = dialects.find(({ name }) => name === dialect);
        if (declared === undefined)
            throw new Error(`no dialect ${dialect}`);
        this.#results = new Map(declared.commands.map(({ name, result, resultNullable }) => [name, { type: result?.type, nullable: resultNullable }]));
        this.#payloads = new Map(declared.events.map(({ name, payload }) => [name, payload]));
    }
    /** Walks one command: `call` sends it, `show` says what came. A failure is told, and the walk goes on. */
    async step(command, call, show) {
        try {
            const answer = await call();
            this.#fits(command, answer);
            tell({ command, ok: true, got: await show(answer) });
        }
        catch (error) {
            tell({ command, ok: false, got: String(error) });
        }
    }
    event(event) {
        if (event.type === UNKNOWN) {
            this.#unknown.push(`event ${event.name}`);
            return;
        }
        this.#events.set(event.type, (this.#events.get(event.type) ?? 0) + 1);
        const misfit = check(shapes, this.#payloads.get(event.type) ?? "", event);
        if (misfit)
            this.#misfits.push(`${event.type}.${misfit.path}: ${misfit.reason}`);
    }
    diagnostic(odd) {
        if (odd.kind !== "unknown_frame")
            this.#misfits.push(JSON.stringify(odd));
    }
    end() {
        tell({ events: Object.fromEntries(this.#events), unknown: this.#unknown, misfits: this.#misfits });
    }
    #fits(command, answer) {
        const declared = this.#results.get(command);
        if (declared?.type === undefined || (declared.nullable && answer === null))
            return;
        const misfit = check(shapes, declared.type, answer);
        if (misfit)
            throw new Error(`the answer does not fit ${declared.type}: ${misfit.path}: ${misfit.reason}`);
    }
}
function tell(line) {
    process.stdout.write(`${JSON.stringify(line)}\n`);
}
