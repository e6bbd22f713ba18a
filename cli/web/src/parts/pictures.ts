/** Pictures that the user attaches to a prompt. */

export interface Attached {
  readonly key: string;
  readonly name: string;
  readonly mimeType: string;
  /** Base64. */
  readonly data: string;
}

/** Limit of a picture in bytes. */
const LARGEST = 10_000_000;
const TYPES = ["image/png", "image/jpeg", "image/gif", "image/webp"];

let count = 0;

/** Reads pictures. Returns the reason for each rejected file. */
export async function readPictures(files: Iterable<File>): Promise<{ read: Attached[]; refused: string[] }> {
  const read: Attached[] = [];
  const refused: string[] = [];
  for (const file of files) {
    if (!TYPES.includes(file.type)) refused.push(`${file.name} is no picture (PNG, JPEG, GIF or WebP).`);
    else if (file.size > LARGEST) refused.push(`${file.name} is larger than 10 MB.`);
    else read.push({ key: `picture-${++count}`, name: file.name || "Picture", mimeType: file.type, data: await base64(file) });
  }
  return { read, refused };
}

function base64(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result).replace(/^[^,]*,/, ""));
    reader.onerror = () => reject(reader.error ?? new Error("the file cannot be read"));
    reader.readAsDataURL(file);
  });
}
