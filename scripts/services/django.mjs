import { pythonWith } from "./python-packages.mjs";

/** The newest versions that Python 3.10 can run. */
const packages = ["Django==5.2.19", "psycopg[binary]==3.3.8"];

/** Django, whose answers to the same queries are compared with those of the models. The value is the Python that has it. */
export default {
  name: "django",
  env: "STOA_TEST_DJANGO",
  async start({ log }) {
    return { value: await pythonWith("django-5.2.19", packages, log) };
  },
};
