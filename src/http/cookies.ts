export interface CookieOptions {
  maxAge?: number;
  expires?: Date;
}
export class Cookies {}
export function parseCookies(_header: string): Cookies {
  return new Cookies();
}
export function serializeCookie(name: string, value: string, _options?: CookieOptions): string {
  return `${name}=${value}`;
}
