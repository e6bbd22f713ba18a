// Extension for agents of the pi family that prompts the user before each command, and blocks rejected ones.
export default function (pi: any) {
  pi.on("tool_call", async (event: any, { ui }: any) => {
    if (event.toolName !== "bash") return undefined;
    const allowed = await ui.confirm("Run this?", event.input.command);
    return allowed ? undefined : { block: true, reason: "the user rejected it" };
  });
}
