// Extension for agents of the pi family: `/ask` opens every dialog, sends every notice and reports the
// answers; `/boom` fails.
export default function (pi: any) {
  pi.registerCommand("ask", {
    description: "Asks everything",
    handler: async (_words: string, { ui }: any) => {
      const answers = [
        await ui.select("Pick one", ["alpha", "beta"]),
        await ui.confirm("Sure?", "Really do it"),
        await ui.input("Your name", "type here"),
        await ui.editor("Edit this", "draft"),
      ];
      ui.setStatus("walk", "asked");
      ui.setWidget("walk", ["asked"]);
      ui.setTitle("asked");
      ui.setEditorText("asked");
      ui.notify(`answers: ${answers.join(", ")}`, "info");
    },
  });
  pi.registerCommand("boom", {
    description: "Fails",
    handler: async () => {
      throw new Error("boom");
    },
  });
}
