// Types of the request body of each API, from the packages of the API's owner.
import type Anthropic from "@anthropic-ai/sdk";
import type * as Google from "@google/genai";
import type OpenAI from "openai";

/**
 * Type of `T` after conversion to JSON: an enumeration becomes the union of its string values.
 */
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
