export default { key: "b", name: "json", kind: "json", method: "GET", path: "/json", value: { hello: "world" } };
