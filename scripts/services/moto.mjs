import { startChild } from "./child.mjs";
import { pythonWith } from "./python-packages.mjs";

const version = "5.2.5";

/** Moto gives a message to both of two clients that ask at the same moment. */
const program = `
from threading import Lock
from moto.server import main
from moto.sqs.models import SQSBackend

lock, receive = Lock(), SQSBackend.receive_message

def receive_in_turn(*args, **kwargs):
    with lock:
        return receive(*args, **kwargs)

SQSBackend.receive_message = receive_in_turn
main()
`;

/** Moto, an emulator of AWS: SNS with its queues of SQS. */
export default {
  name: "moto",
  env: "STOA_TEST_MOTO",
  async start({ port, log }) {
    const python = await pythonWith(`moto-${version}`, [`moto[server]==${version}`], log);
    const args = ["-c", program, "-H", "127.0.0.1", "-p", String(port)];
    const url = `http://127.0.0.1:${port}`;
    const answers = () =>
      fetch(`${url}/moto-api/data.json`).then(
        ({ ok }) => ok,
        () => false,
      );
    const { stop } = await startChild(python, args, {
      ready: answers,
      patience: 120_000,
    });
    return { value: url, stop };
  },
};
