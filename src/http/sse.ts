export interface SseOptions {
  heartbeat?: number;
}
export interface SseEvent {
  data: unknown;
}
export type SseSource = AsyncIterable<SseEvent | string>;
export async function* sseStream(_source: SseSource, _options?: SseOptions): AsyncIterableIterator<string> {}
