/** Text that tries to begin a line of its own, to move the cursor, to colour, to end a string, and to turn the direction. */
export const hostileText =
  'a\n{"level":"error","msg":"forged"}\r\n\x1b[31mred\x1b[2J\x00\x07\x7f\x9b31m\u2028\u2029\u202e"\\\t</script>';

/** What must not be in a line whatever is logged. */
export const unsafeCharacter = /[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]/;
