import type { AnyTypes, Spec } from "../spec.js";

/** What the serving side knows of a command. */
export interface ServedCommand {
  /** The method of the service. */
  readonly name: string;
  /** The declared type of its parameters, where it has any. */
  readonly params?: string;
  /** Its lane; without it: handled at once. */
  readonly lane?: "session" | "bash";
}

/** The rules at the edges of a dialect, for its agents. */
export interface Serving<T extends AnyTypes = AnyTypes> {
  readonly spec: Spec<T>;
  /** Whether the answer to an unknown command carries its id. */
  readonly unknownCommandEchoesId: boolean;
  /** What that answer says; `{command}` stands for the name. */
  readonly unknownCommandText: string;
  /**
   * How failures are answered: under the command's own name, without one but for some commands (`invalid` lists those
   * that keep it where their parameters cannot be read), or in JSON-RPC.
   */
  readonly handlerFailure: "own" | "json-rpc" | { readonly except: readonly string[]; readonly invalid: readonly string[] };
  /** What failures to read a line begin with. */
  readonly parsePrefix: string;
  /** Whether a blank line or a byte order mark is answered as a failure. */
  readonly blankLineIsError: boolean;
  /** Whether a success without data carries `{}`. */
  readonly emptyData: boolean;
  /** Whether `id` stands first in an answer. */
  readonly idFirst: boolean;
  /** Whether work that is going on finishes when the input ends. */
  readonly finishes: boolean;
  readonly commands: Readonly<Record<string, ServedCommand>>;
}
