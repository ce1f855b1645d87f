/** True for an address of this machine itself: its traffic does not pass a network. */
export function isLoopback(address: string): boolean {
  return /^(?:::ffff:)?127\.\d+\.\d+\.\d+$/i.test(address) || address === "::1";
}
