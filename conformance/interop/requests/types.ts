// The body of a request of each API, as the API's owner publishes it.
import type Anthropic from "@anthropic-ai/sdk";
import type * as Google from "@google/genai";
import type OpenAI from "openai";

/** The type that JSON carries for `T`: an enumeration becomes the union of its string values. */
type Wire<T> = T extends string ? `${T}` : T extends object ? { [Name in keyof T]: Wire<T[Name]> } : T;

export type Messages = Anthropic.MessageCreateParamsStreaming;
export type Completion = OpenAI.Chat.ChatCompletionCreateParamsStreaming;
export type Response = OpenAI.Responses.ResponseCreateParamsStreaming;
export type Content = Wire<{
  contents: Google.Content[];
  systemInstruction?: Google.Content;
  tools?: Google.Tool[];
  generationConfig?: Google.GenerationConfig;
}>;
