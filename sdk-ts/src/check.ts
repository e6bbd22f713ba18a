/** Runtime validation of values against the declared types. */

import { frames, shapes } from "./generated/shapes.js";
import type { JsonObject, JsonValue } from "./generated/types.js";
import { row } from "./spec.js";
import type { TypeMismatch, Validator } from "./validation.js";

export { shapes };
export type { TypeMismatch };
export type { ValidationTarget, Validator } from "./validation.js";

/** Code of a type: the name of a primitive type, a list, a map, or a declared type. */
export type TypeCode =
  | "string"
  | "boolean"
  | "integer"
  | "count"
  | "number"
  | "any"
  | "object"
  | { readonly list: TypeCode }
  | { readonly map: TypeCode }
  | { readonly is: string };

/** Member of a record: a fixed value, or a type. */
export type MemberShape =
  | { readonly value: string | boolean }
  | { readonly type: TypeCode; readonly optional?: boolean; readonly nullable?: boolean };

/** Structure of a declared type. */
export type Shape =
  | { readonly members: Readonly<Record<string, MemberShape>> }
  | { readonly tag: string; readonly open: boolean; readonly variants: Readonly<Record<string, string>> }
  | { readonly choice: readonly TypeCode[] }
  | { readonly open: boolean; readonly strings: readonly string[] };

/** Declared types by name. */
export type Shapes = Readonly<Record<string, Shape>>;

/** Declared types of all frames that an agent of one dialect sends. */
export interface FrameTypes {
  /** Type of the data in each command's response. */
  readonly answers: Readonly<Record<string, { readonly type: TypeCode; readonly nullable?: boolean; readonly optional?: boolean }>>;
  readonly events: Readonly<Record<string, string>>;
  readonly dialogs: Readonly<Record<string, string>>;
}

/**
 * Validator for the option `validate` of a client, which checks every frame of the agent against the
 * declaration.
 *
 * If a frame does not fit, a call fails with a `DecodeError`. An event is delivered as an unknown event, and
 * a dialog is answered by the declared policy. The tap receives a diagnostic. Every frame is parsed
 * completely, which costs time.
 *
 * ```ts
 * const client = new pi.Client(transport, { validate });
 * ```
 */
export const validate: Validator = (spec, what, name, value) => {
  const types = row(frames, spec.name);
  if (types === undefined) return undefined;
  if (what !== "answer") {
    const type = row(what === "event" ? types.events : types.dialogs, name);
    return type === undefined ? undefined : check(shapes, type, value);
  }
  const declared = row(types.answers, name);
  if (declared === undefined || (declared.nullable && value === null)) return undefined;
  if (declared.optional && value === undefined) return undefined;
  return checkType(shapes, declared.type, value, "");
};

/**
 * Checks a value against a declared type. Returns the first mismatch, or `undefined` if the value fits.
 *
 * Undeclared members are accepted. So are undeclared tags and strings if their set is open.
 */
export function check(shapes: Shapes, name: string, value: JsonValue | undefined): TypeMismatch | undefined {
  return checkType(shapes, { is: name }, value, "");
}

function mismatch(path: string, message: string, outsideSet = false): TypeMismatch {
  return { path, message, outsideSet };
}

function checkType(shapes: Shapes, type: TypeCode, value: JsonValue | undefined, path: string): TypeMismatch | undefined {
  if (typeof type === "string") {
    return fits(type, value) ? undefined : mismatch(path, `expected ${PRIMITIVES[type]}, found ${typeName(value)}`);
  }
  if ("list" in type) {
    if (!Array.isArray(value)) return mismatch(path, `expected a list, found ${typeName(value)}`);
    return first(value.map((item, at) => () => checkType(shapes, type.list, item, `${path}[${at}]`)));
  }
  if ("map" in type) {
    if (!isObject(value)) return mismatch(path, `expected an object, found ${typeName(value)}`);
    return first(Object.keys(value).map((key) => () => checkType(shapes, type.map, value[key], join(path, key))));
  }
  const shape = shapes[type.is];
  return shape === undefined ? mismatch(path, `unknown type ${type.is}`) : checkShape(shapes, shape, value, path);
}

function checkShape(shapes: Shapes, shape: Shape, value: JsonValue | undefined, path: string): TypeMismatch | undefined {
  if ("strings" in shape) {
    if (typeof value !== "string") return mismatch(path, `expected a string, found ${typeName(value)}`);
    if (shape.open || shape.strings.includes(value)) return undefined;
    return mismatch(path, `expected one of ${shape.strings.join(", ")}, found \`${value}\``, true);
  }
  if ("choice" in shape) {
    const fitting = shape.choice.some((type) => checkType(shapes, type, value, path) === undefined);
    return fitting ? undefined : mismatch(path, "does not fit any of the declared forms");
  }
  if (!isObject(value)) return mismatch(path, `expected an object, found ${typeName(value)}`);
  if ("variants" in shape) {
    const tag = value[shape.tag];
    if (typeof tag !== "string") return mismatch(join(path, shape.tag), `expected a string, found ${typeName(tag)}`);
    if (Object.hasOwn(shape.variants, tag)) return checkType(shapes, { is: shape.variants[tag] ?? "" }, value, path);
    return shape.open ? undefined : mismatch(join(path, shape.tag), `\`${tag}\` is not a declared value`, true);
  }
  return first(
    Object.entries(shape.members).map(([name, member]) => () => checkMember(shapes, name, member, value, path)),
  );
}

function checkMember(
  shapes: Shapes,
  name: string,
  member: MemberShape,
  object: JsonObject,
  path: string,
): TypeMismatch | undefined {
  const value = Object.hasOwn(object, name) ? object[name] : undefined;
  const where = join(path, name);
  if ("value" in member) {
    return value === member.value ? undefined : mismatch(where, `expected ${JSON.stringify(member.value)}`);
  }
  if (value === undefined) return member.optional ? undefined : mismatch(where, "required, but missing");
  if (value === null && member.nullable) return undefined;
  return checkType(shapes, member.type, value, where);
}

/** Returns the mismatch of the first failed check. */
function first(checks: readonly (() => TypeMismatch | undefined)[]): TypeMismatch | undefined {
  for (const one of checks) {
    const found = one();
    if (found !== undefined) return found;
  }
  return undefined;
}

const PRIMITIVES = {
  string: "a string",
  boolean: "a boolean",
  integer: "a whole number",
  count: "a whole number from 0",
  number: "a number",
  any: "anything",
  object: "an object",
} as const;

function fits(type: keyof typeof PRIMITIVES, value: JsonValue | undefined): boolean {
  switch (type) {
    case "string":
    case "boolean":
    case "number":
      return typeof value === type;
    case "integer":
      return Number.isInteger(value);
    case "count":
      return Number.isInteger(value) && (value as number) >= 0;
    case "any":
      return value !== undefined;
    case "object":
      return isObject(value);
  }
}

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function typeName(value: JsonValue | undefined): string {
  if (value === undefined) return "nothing";
  if (value === null) return "null";
  return Array.isArray(value) ? "a list" : typeof value === "object" ? "an object" : `a ${typeof value}`;
}

function join(path: string, name: string): string {
  return path === "" ? name : `${path}.${name}`;
}
