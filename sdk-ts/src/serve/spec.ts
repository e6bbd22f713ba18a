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

/** Edges of a dialect that its agents follow. */
export interface ServeSpec<T extends AnyTypes = AnyTypes> {
  readonly spec: Spec<T>;
  /** `true` if the response to an unknown command carries its id. */
  readonly unknownCommandEchoesId: boolean;
  /** Text of that response; `{command}` stands for the name. */
  readonly unknownCommandText: string;
  /**
   * Form of failure responses. `own`: with the name of the command. `json-rpc`: a JSON-RPC error. Otherwise
   * without a name, except for the commands in `except`; `invalid` lists the commands that keep their name
   * if their parameters are unreadable.
   */
  readonly handlerFailure: "own" | "json-rpc" | { readonly except: readonly string[]; readonly invalid: readonly string[] };
  /** Prefix of the error message for an unreadable line. */
  readonly parsePrefix: string;
  /** `true` if a blank line or a byte order mark is an error that is answered. */
  readonly blankLineIsError: boolean;
  /** `true` if a successful response without data contains an empty object. */
  readonly emptyData: boolean;
  /** `true` if `id` is the first member of a response. */
  readonly idFirst: boolean;
  /** `true` if running work finishes after the end of the input. */
  readonly finishes: boolean;
  readonly commands: Readonly<Record<string, ServedCommand>>;
}
