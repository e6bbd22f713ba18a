// Extension for agents of the pi family: `/dialogs` prompts the user for a colour, a confirmation and a name.
export default function (pi: any) {
  pi.registerCommand("dialogs", {
    description: "Asks three questions",
    handler: async (_words: string, { ui }: any) => {
      const colour = await ui.select("Which colour?", ["red", "green", "blue"]);
      const sure = await ui.confirm("Sure?", `It will be ${colour}.`);
      const name = await ui.input("What is it called?");
      ui.notify(`colour ${colour}, ${sure}, ${name}`, "info");
    },
  });
}
