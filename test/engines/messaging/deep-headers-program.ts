/** Publishes a message whose header is a list of lists: `deep-headers-program.ts <url> <exchange> <depth>`. */
import { connect } from "amqplib";

const [url, exchange, depth] = process.argv.slice(2) as [string, string, string];
let list: unknown = 1;
for (let level = 0; level < Number(depth); level++) list = [list];
const connection = await connect(url);
const channel = await connection.createConfirmChannel();
channel.publish(exchange, "", Buffer.from("1"), { headers: { list } });
await channel.waitForConfirms();
await connection.close();
