/** Adds the command `/dialogs`, which shows every kind of dialog and notice. */

import { Extension } from "agentese/extension";

const extension = new Extension("dialogs");

extension.command({ name: "dialogs", description: "Shows every kind of dialog and notice" }, async (_args, context) => {
  const colour = await context.select("Which colour?", ["red", "green", "blue"], { timeout: 30_000 });
  const sure = await context.confirm("Sure?", `It will be ${colour}.`);
  const name = await context.input("What is it called?", "a name");
  const text = await context.editor("Describe it", "line 1\nline 2");
  context.setStatus("dialogs", "asked");
  context.setWidget("dialogs", [`colour: ${colour}`, `sure: ${sure ? "yes" : "no"}`, `name: ${name}`], "belowEditor");
  context.setTitle("dialogs");
  context.setEditorText(text ?? "");
  context.notify("That is all.", "info");
  context.setStatus("dialogs");
  context.setWidget("dialogs");
});

await extension.run();
