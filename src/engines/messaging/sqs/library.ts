import { loadPackage, notInstalled } from "../../../kit/optional-package.js";

/*
 * The parts of @aws-sdk/client-sqs and @aws-sdk/client-sns that are used. Their own types are not named: the declarations of
 * Stoa must compile where they are not installed.
 */

export interface SqsLibrary {
  readonly SQSClient: new (options: object) => SqsClient;
  readonly commands: { readonly [Name in keyof SqsCalls]: new (input: SqsCalls[Name]["input"]) => object };
}

export interface SnsLibrary {
  readonly SNSClient: new (options: object) => SqsClient;
  readonly commands: { readonly [Name in keyof SnsCalls]: new (input: SnsCalls[Name]["input"]) => object };
}

export interface SqsClient {
  send(command: object, options?: { readonly abortSignal?: AbortSignal }): Promise<never>;
  destroy(): void;
}

export interface SqsMessage {
  readonly MessageId: string;
  readonly ReceiptHandle: string;
  readonly Body?: string;
  readonly Attributes?: Readonly<Record<string, string>>;
  readonly MessageAttributes?: Readonly<Record<string, SqsAttribute>>;
}

export interface SqsAttribute {
  readonly DataType: string;
  readonly StringValue?: string;
  readonly BinaryValue?: Uint8Array;
}

export interface SqsSendEntry {
  readonly Id: string;
  readonly MessageBody: string;
  readonly MessageAttributes: Readonly<Record<string, SqsAttribute>>;
  readonly DelaySeconds?: number;
  readonly MessageGroupId?: string;
  readonly MessageDeduplicationId?: string;
}

export interface SqsFailure {
  readonly Id: string;
  readonly Code?: string;
  readonly Message?: string;
  readonly SenderFault?: boolean;
}

interface Call<Input, Output> {
  readonly input: Input;
  readonly output: Output;
}

interface Failures {
  readonly Failed?: readonly SqsFailure[];
}

/** The result of a batch that was sent. */
export interface SqsSent extends Failures {
  readonly Successful?: readonly { readonly Id: string }[];
}

interface Receipt {
  readonly Id: string;
  readonly ReceiptHandle: string;
}

/** The calls with their input and output. */
export interface SqsCalls {
  GetQueueUrl: Call<{ QueueName: string }, { readonly QueueUrl: string }>;
  CreateQueue: Call<{ QueueName: string; Attributes: Record<string, string> }, { readonly QueueUrl: string }>;
  ListQueues: Call<{ MaxResults: number }, object>;
  GetQueueAttributes: Call<
    { QueueUrl: string; AttributeNames: readonly string[] },
    { readonly Attributes?: Readonly<Record<string, string>> }
  >;
  SetQueueAttributes: Call<{ QueueUrl: string; Attributes: Record<string, string> }, object>;
  SendMessageBatch: Call<{ QueueUrl: string; Entries: readonly SqsSendEntry[] }, SqsSent>;
  ReceiveMessage: Call<
    {
      QueueUrl: string;
      MaxNumberOfMessages: number;
      WaitTimeSeconds: number;
      VisibilityTimeout: number;
      MessageAttributeNames: readonly string[];
      MessageSystemAttributeNames: readonly string[];
    },
    { readonly Messages?: readonly SqsMessage[] }
  >;
  DeleteMessageBatch: Call<{ QueueUrl: string; Entries: readonly Receipt[] }, Failures>;
  ChangeMessageVisibilityBatch: Call<
    { QueueUrl: string; Entries: readonly (Receipt & { readonly VisibilityTimeout: number })[] },
    Failures
  >;
}

type SnsEntry = Omit<SqsSendEntry, "MessageBody" | "DelaySeconds"> & { readonly Message: string };

/** The calls of SNS with their input and output. */
export interface SnsCalls {
  CreateTopic: Call<{ Name: string; Attributes: Record<string, string> }, { readonly TopicArn: string }>;
  ListTopics: Call<
    { NextToken: string | undefined },
    { readonly Topics?: readonly { readonly TopicArn: string }[]; readonly NextToken?: string }
  >;
  Subscribe: Call<
    { TopicArn: string; Protocol: "sqs"; Endpoint: string; Attributes: Record<string, string> },
    { readonly SubscriptionArn?: string }
  >;
  PublishBatch: Call<{ TopicArn: string; PublishBatchRequestEntries: readonly SnsEntry[] }, SqsSent>;
}

/** Loads the client library, which applications without a cloud queue do not need. */
export function loadSqs(): Promise<SqsLibrary> {
  return loadPackage(importSqs, "@aws-sdk/client-sqs", "enableCloudQueue");
}

/** Loads the client library of SNS, which only fan-out needs. */
export function loadSns(load: () => Promise<SnsLibrary> = importSns): Promise<SnsLibrary> {
  return loadPackage(load, "@aws-sdk/client-sns", "the option 'fanOut' of enableCloudQueue");
}

async function importSns(): Promise<SnsLibrary> {
  const sdk = await import("@aws-sdk/client-sns").catch(notInstalled);
  const commands = {
    CreateTopic: sdk.CreateTopicCommand,
    ListTopics: sdk.ListTopicsCommand,
    Subscribe: sdk.SubscribeCommand,
    PublishBatch: sdk.PublishBatchCommand,
  };
  return { SNSClient: sdk.SNSClient, commands } as unknown as SnsLibrary;
}

async function importSqs(): Promise<SqsLibrary> {
  const sdk = await import("@aws-sdk/client-sqs").catch(notInstalled);
  const commands = {
    GetQueueUrl: sdk.GetQueueUrlCommand,
    CreateQueue: sdk.CreateQueueCommand,
    ListQueues: sdk.ListQueuesCommand,
    GetQueueAttributes: sdk.GetQueueAttributesCommand,
    SetQueueAttributes: sdk.SetQueueAttributesCommand,
    SendMessageBatch: sdk.SendMessageBatchCommand,
    ReceiveMessage: sdk.ReceiveMessageCommand,
    DeleteMessageBatch: sdk.DeleteMessageBatchCommand,
    ChangeMessageVisibilityBatch: sdk.ChangeMessageVisibilityBatchCommand,
  };
  return { SQSClient: sdk.SQSClient, commands } as unknown as SqsLibrary;
}
