/** `ctx.ui.theme` without a terminal: every style returns its text unchanged. */

/** Style of a text. */
type Style = (text: string) => string;

const plain: Style = (text) => text;

/** Theme without colours. */
export class Theme {
  /** Name of the theme. */
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

/** Returns an object with a no-op style for every name. */
export function plainStyles(): Record<string, Style> {
  return new Proxy<Record<string, Style>>({}, { get: () => plain });
}
