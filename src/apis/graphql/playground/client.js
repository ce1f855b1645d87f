/**
 * The script of the playground's page. scripts/copy-assets.mjs bundles it with GraphiQL. Addresses are those of the page, so
 * that it works behind a proxy that adds a prefix.
 */
import { createGraphiQLFetcher } from "@graphiql/toolkit";
import { GraphiQL } from "graphiql";
import { createElement } from "react";
import { createRoot } from "react-dom/client";
import "graphiql/style.css";

const address = new URL(location.href);
const endpoint = address.origin + address.pathname;
const fetcher = createGraphiQLFetcher({ url: endpoint, subscriptionUrl: endpoint.replace(/^http/, "ws") });

/** The query is part of the address, so that a reader can pass it on. */
function onEditQuery(query) {
  address.searchParams.set("query", query);
  history.replaceState({}, "", address);
}

const options = {
  fetcher,
  onEditQuery,
  query: address.searchParams.get("query") ?? undefined,
  shouldPersistHeaders: true,
  schemaDescription: true,
  inputValueDeprecation: true,
};
createRoot(document.getElementById("root")).render(
  createElement(GraphiQL, options, createElement(GraphiQL.Logo, null, "GraphQL")),
);
