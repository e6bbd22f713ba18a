import type { AnyTypes, Spec } from "../spec.js";

/** Properties of a command for the serving side. */
export interface ServedCommand {
  /** Method of the service. */
  readonly name: string;
  /** Declared type of the parameters, if any. */
  readonly params?: string;
  /** Lane; without it the command is handled at once. */
  readonly lane?: "session" | "bash";
}

/** Edges of a dialect, for its agents. */
export interface ServeSpec<T extends AnyTypes = AnyTypes> {
  readonly spec: Spec<T>;
  /** `true` if the response to an unknown command carries its id. */
  readonly unknownCommandEchoesId: boolean;
  /** Text of that response; `{command}` stands for the name. */
  readonly unknownCommandText: string;
  /**
   * Form of failures: with the command's own name, without a name except for some commands, or in JSON-RPC.
   * `invalid` lists the commands that keep their name if their parameters are unreadable.
   */
  readonly handlerFailure: "own" | "json-rpc" | { readonly except: readonly string[]; readonly invalid: readonly string[] };
  /** Prefix of failures to read a line. */
  readonly parsePrefix: string;
  /** `true` if a blank line or a byte order mark is answered with a failure. */
  readonly blankLineIsError: boolean;
  /** `true` if a success without data carries `{}`. */
  readonly emptyData: boolean;
  /** `true` if `id` is the first member of a response. */
  readonly idFirst: boolean;
  /** `true` if running work finishes after the end of the input. */
  readonly finishes: boolean;
  readonly commands: Readonly<Record<string, ServedCommand>>;
}
