import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { runNode } from "../../scripts/process.mjs";

const modules = fileURLToPath(new URL("../node_modules", import.meta.url));

const folder = () => join(process.env.BENCH_FOLDER, "prisma");

export const clientFolder = () => join(folder(), "client");

const schema = `
generator client {
  provider        = "prisma-client-js"
  output          = "./client"
  previewFeatures = ["relationJoins"]
}

datasource db {
  provider = "postgresql"
}

model Author {
  id      Int    @id @default(autoincrement())
  name    String @db.VarChar(100)
  country String @db.VarChar(2)
  books   Book[]

  @@map("authors")
}

model Book {
  id        Int      @id @default(autoincrement())
  title     String   @db.VarChar(200)
  authorId  Int      @map("author_id")
  year      Int?
  inStock   Boolean  @map("in_stock")
  price     Float
  createdAt DateTime @default(now()) @map("created_at") @db.Timestamptz(3)
  author    Author   @relation(fields: [authorId], references: [id])

  @@map("books")
}
`;

/** Generates Prisma's client. Its command wants a program that only migrations need, and would fetch it. */
export async function generatePrismaClient() {
  const file = join(folder(), "schema.prisma");
  await mkdir(folder(), { recursive: true });
  await writeFile(file, schema);
  await symlink(modules, join(folder(), "node_modules"));
  const env = { ...process.env, PRISMA_SCHEMA_ENGINE_BINARY: process.execPath, CHECKPOINT_DISABLE: "1" };
  const command = join(modules, "prisma/build/index.js");
  const { code, output } = await runNode(command, ["generate", "--schema", file], { cwd: folder(), env });
  if (code !== 0) throw new Error(`prisma generate failed: ${output.trim().replace(/\s+/g, " ")}`);
}
