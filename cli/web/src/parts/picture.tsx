/** Media types of pictures that browsers can draw and that contain no scripts. */
const DRAWN = /^image\/(png|jpeg|gif|webp)$/;

/** Picture of the conversation. */
export function Picture({ mimeType, data, name = "Picture" }: { mimeType: string; data: string; name?: string }) {
  if (!DRAWN.test(mimeType)) return <p class="note">A picture of the type {mimeType} is not shown.</p>;
  return <img class="picture" alt={name} src={`data:${mimeType};base64,${data}`} />;
}
