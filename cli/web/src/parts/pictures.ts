/** Pictures that the user attaches to a prompt. */

export interface AttachedPicture {
  readonly key: string;
  readonly name: string;
  readonly mimeType: string;
  /** Bytes of the picture in base64. */
  readonly data: string;
}

/** Maximum size of a picture in bytes. */
const MAX_BYTES = 10_000_000;
const TYPES = ["image/png", "image/jpeg", "image/gif", "image/webp"];

let count = 0;

/** Reads pictures. Returns the reason for each rejected file. */
export async function readPictures(files: Iterable<File>): Promise<{ read: AttachedPicture[]; rejected: string[] }> {
  const read: AttachedPicture[] = [];
  const rejected: string[] = [];
  for (const file of files) {
    if (!TYPES.includes(file.type)) rejected.push(`${file.name} is not a picture (PNG, JPEG, GIF or WebP).`);
    else if (file.size > MAX_BYTES) rejected.push(`${file.name} is larger than 10 MB.`);
    else read.push({ key: `picture-${++count}`, name: file.name || "Picture", mimeType: file.type, data: await base64(file) });
  }
  return { read, rejected };
}

function base64(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result).replace(/^[^,]*,/, ""));
    reader.onerror = () => reject(reader.error ?? new Error("the file cannot be read"));
    reader.readAsDataURL(file);
  });
}
