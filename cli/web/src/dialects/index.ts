/** All dialects of the page. */

import { type Spec, omp, opal, operator, pi, pisces } from "agentese";

import type { Dialect } from "./actions.js";
import * as family from "./family.js";
import { opal as opalDialect } from "./opal.js";
import { operator as operatorDialect } from "./operator.js";

export type { Action, ActionArguments, ActionCommand, Actions, Call, Delivery, Dialect, Picture } from "./actions.js";
export { TITLES } from "./actions.js";
export { subagentsOf } from "./subagents.js";

/** Dialects by name: the tables of each, and its properties for the page. */
export const DIALECTS: Readonly<Record<string, { readonly spec: Spec; readonly dialect: Dialect }>> = {
  pi: { spec: pi.spec as Spec, dialect: family.pi },
  omp: { spec: omp.spec as Spec, dialect: family.omp },
  pisces: { spec: pisces.spec as Spec, dialect: family.omp },
  operator: { spec: operator.spec as Spec, dialect: operatorDialect },
  opal: { spec: opal.spec as Spec, dialect: opalDialect },
};
