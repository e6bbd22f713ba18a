/** Types of pictures that a browser draws and that run nothing. */
const DRAWN = /^image\/(png|jpeg|gif|webp)$/;

/** A picture of the conversation. */
export function Picture({ mimeType, data, name = "Picture" }: { mimeType: string; data: string; name?: string }) {
  if (!DRAWN.test(mimeType)) return <p class="note">A picture of the type {mimeType} is not shown.</p>;
  return <img class="picture" alt={name} src={`data:${mimeType};base64,${data}`} />;
}
