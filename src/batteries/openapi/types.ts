/** A piece of an OpenAPI document. */
export interface OpenApiObject {
  [member: string]: unknown;
}

/** An OpenAPI 3.1 document. */
export interface OpenApiDocument extends OpenApiObject {
  openapi: string;
  info: OpenApiInfo;
  paths: Record<string, OpenApiObject>;
  components?: OpenApiObject;
  tags?: OpenApiObject[];
  servers?: OpenApiServer[];
  security?: OpenApiObject[];
}

export interface OpenApiInfo extends OpenApiObject {
  title: string;
  version: string;
  summary?: string;
  description?: string;
}

export interface OpenApiServer {
  readonly url: string;
  readonly description?: string;
}
