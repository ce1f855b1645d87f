import "reflect-metadata";
import { Body, Controller, Get, HttpCode, Module, Param, Post, Query } from "@nestjs/common";
import { NestFactory } from "@nestjs/core";
import { FastifyAdapter } from "@nestjs/platform-fastify";

/** NestJS on Fastify. The decorators are called by hand: they are what TypeScript would call. */
export async function serve(workload, port) {
  class Answers {
    answer(...args) {
      return results[workload.kind](workload, args);
    }
  }
  decorate[workload.kind](Answers.prototype, workload);
  Controller()(Answers);
  class Root {}
  Module({ controllers: [Answers] })(Root);
  const app = await NestFactory.create(Root, new FastifyAdapter(), { logger: false });
  return app.listen(port, "127.0.0.1");
}

const results = {
  text: ({ value }) => value,
  json: ({ value }) => value,
  params: (_, [user, post, q]) => ({ user, post, q }),
  echo: (_, [body]) => body,
};

const decorate = {
  text: (target, { path }) => route(Get(path), target),
  json: (target, { path }) => route(Get(path), target),
  params(target, { route: wanted, others }) {
    for (const [index, decorator] of [Param("user"), Param("post"), Query("q")].entries()) {
      decorator(target, "answer", index);
    }
    route(Get([...others, wanted].map((template) => template.replace(/\{(\w+)\}/g, ":$1"))), target);
  },
  echo(target, { path }) {
    Body()(target, "answer", 0);
    route(HttpCode(200), target);
    route(Post(path), target);
  },
};

function route(decorator, target) {
  decorator(target, "answer", Object.getOwnPropertyDescriptor(target, "answer"));
}
