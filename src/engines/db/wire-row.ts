/** PostgreSQL's limit for the columns of a result is 1664. */
const mostFields = 2048;

/**
 * A row as it is on the wire, with the place of each field in its bytes. There is one, and every row is read into it:
 * copy the parts to keep.
 */
export class WireRow {
  bytes: Buffer = Buffer.alloc(0);
  count = 0;
  /** The start of the text of each field; -1 for null. */
  readonly starts: Int32Array = new Int32Array(mostFields);
  readonly ends: Int32Array = new Int32Array(mostFields);

  /** Reads the body of a DataRow message: the number of fields, then the length of each, -1 for null, and its text. */
  read(bytes: Buffer, at: number, end: number): void {
    const count = (bytes[at]! << 8) | bytes[at + 1]!;
    if (count > mostFields) throw new Error("a row with more fields than there can be");
    let place = at + 2;
    for (let i = 0; i < count; i++) {
      const length = (bytes[place]! << 24) | (bytes[place + 1]! << 16) | (bytes[place + 2]! << 8) | bytes[place + 3]!;
      place += 4;
      if (length === -1) {
        this.starts[i] = -1;
      } else {
        if (length < 0 || length > end - place) throw new Error("a field that is longer than its row");
        this.starts[i] = place;
        place += length;
        this.ends[i] = place;
      }
    }
    if (place !== end) throw new Error("a row that is not as long as its fields");
    this.bytes = bytes;
    this.count = count;
  }

  /** Takes a row that has been read already. */
  fill(fields: readonly (string | null)[]): void {
    const size = fields.reduce((sum, field) => sum + (field === null ? 0 : Buffer.byteLength(field)), 0);
    this.bytes = Buffer.allocUnsafe(size);
    this.count = fields.length;
    let place = 0;
    for (const [i, field] of fields.entries()) {
      this.starts[i] = field === null ? -1 : place;
      if (field !== null) place += this.bytes.write(field, place);
      this.ends[i] = place;
    }
  }
}

export const wireRow: WireRow = new WireRow();

/** Takes rows as they are on the wire, without making values of them. */
export interface RowSink {
  /**
   * Called before the first row with the object ids of the columns' types, and when there is none. Called once more when
   * the statement had to be run again: earlier rows are then void.
   */
  begin(types: readonly number[]): void;
  row(row: WireRow): void;
}
