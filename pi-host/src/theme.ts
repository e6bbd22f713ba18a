/** `ctx.ui.theme`: there is no terminal, so that every style leaves its text as it is. */

/** Something that styles text. */
type Style = (text: string) => string;

const plain: Style = (text) => text;

/** A theme without colours. */
export class Theme {
  /** Its name. */
  readonly name: string = "plain";

  fg(_colour: string, text: string): string {
    return text;
  }

  bg(_colour: string, text: string): string {
    return text;
  }

  bold = plain;
  italic = plain;
  underline = plain;
  inverse = plain;
  strikethrough = plain;

  getFgAnsi(): string {
    return "";
  }

  getBgAnsi(): string {
    return "";
  }

  getColorMode(): "256color" {
    return "256color";
  }

  getThinkingBorderColor(): Style {
    return plain;
  }

  getBashModeBorderColor(): Style {
    return plain;
  }
}

/** An object in which every member is a style that leaves its text as it is. */
export function plainStyles(): Record<string, Style> {
  return new Proxy<Record<string, Style>>({}, { get: () => plain });
}
