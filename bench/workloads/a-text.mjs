export default { key: "a", name: "text", kind: "text", method: "GET", path: "/", value: "hello" };
