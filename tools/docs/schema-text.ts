/**
 * Schema text: a zod schema as a short TypeScript-like type, for people.
 *
 * Owns: how a payload looks on a generated page. Bounds are written behind the type: `string (1..128)`, `integer (0..)`.
 */

import { z } from "zod";

interface Node {
  readonly $ref?: string;
  readonly $defs?: Readonly<Record<string, Node>>;
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Node[];
  readonly oneOf?: readonly Node[];
  readonly allOf?: readonly Node[];
  readonly properties?: Readonly<Record<string, Node>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Node;
  readonly propertyNames?: Node;
  readonly items?: Node;
  readonly prefixItems?: readonly Node[];
  readonly title?: string;
  readonly description?: string;
  readonly format?: string;
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly exclusiveMaximum?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
}

/** Longest type that stays on one line. */
const LINE = 100;

/** A payload schema as text, and what the schema says about itself. */
export function describeSchema(schema: z.ZodType): { readonly text: string; readonly description: string | undefined } {
  const root = z.toJSONSchema(schema, { io: "input", unrepresentable: "any", reused: "inline", cycles: "ref" }) as Node;
  const text = typeText(root, root, "");
  return { text: text.startsWith("\n") ? text.slice(1).replace(/^ {2}/gm, "") : text, description: root.description };
}

function typeText(node: Node, root: Node, indent: string): string {
  if (node.$ref !== undefined) return refText(node.$ref, root);
  if (node.const !== undefined) return JSON.stringify(node.const);
  if (node.enum) return node.enum.map((value) => JSON.stringify(value)).join(" | ");
  const union = node.anyOf ?? node.oneOf;
  if (union) return isJson(union, root) ? "Json" : unionText(union, root, indent);
  if (node.allOf) return node.allOf.map((part) => typeText(part, root, indent)).join(" & ");
  if (Array.isArray(node.type)) return node.type.map((type) => typeText({ ...node, type }, root, indent)).join(" | ");
  switch (node.type) {
    case "object":
      return objectText(node, root, indent);
    case "array":
      return arrayText(node, root, indent);
    case "string":
      return `string${stringBounds(node)}`;
    case "integer":
    case "number":
      return numberText(node);
    case undefined:
      return node.title ?? "any";
    default:
      return String(node.type);
  }
}

function numberText(node: Node): string {
  if (node.type === "number" && node.exclusiveMinimum !== undefined) return `number (over ${node.exclusiveMinimum})`;
  const least = node.exclusiveMinimum === undefined ? node.minimum : node.exclusiveMinimum + 1;
  const most = node.exclusiveMaximum === undefined ? node.maximum : node.exclusiveMaximum - 1;
  return `${node.type}${range(least, most)}`;
}

function refText(ref: string, root: Node): string {
  const definition = root.$defs?.[ref.split("/").at(-1) ?? ""];
  const union = definition?.anyOf ?? definition?.oneOf;
  return union && isJson(union, root) ? "Json" : "(recursive)";
}

/** Zod writes "any JSON value" as a union that refers to itself. */
function isJson(union: readonly Node[], root: Node): boolean {
  const types = new Set(
    union.map((part) => (part.$ref === undefined ? part.type : (root.$defs?.[part.$ref.split("/").at(-1) ?? ""]?.type ?? "self"))),
  );
  return ["string", "number", "boolean", "null", "array", "object"].every((type) => types.has(type));
}

function unionText(union: readonly Node[], root: Node, indent: string): string {
  const members = union.flatMap(membersOf);
  const short = members.map((part) => typeText(part, root, indent)).join(" | ");
  if (short.length + indent.length <= LINE && !short.includes("\n")) return short;
  return members.map((part) => `\n${indent}  | ${typeText(part, root, `${indent}    `)}`).join("");
}

/** A union within a union is one union. */
function membersOf(node: Node): readonly Node[] {
  return node.description === undefined ? ((node.anyOf ?? node.oneOf)?.flatMap(membersOf) ?? [node]) : [node];
}

function arrayText(node: Node, root: Node, indent: string): string {
  if (node.prefixItems) return `[${node.prefixItems.map((item) => typeText(item, root, indent)).join(", ")}]`;
  const item = node.items ? typeText(node.items, root, indent) : "any";
  const simple = /^[\w]+$/.test(item) || (item.startsWith("{") && item.endsWith("}"));
  return `${simple ? item : `(${item})`}[]${range(node.minItems, node.maxItems)}`;
}

function objectText(node: Node, root: Node, indent: string): string {
  const entries = Object.entries(node.properties ?? {});
  if (entries.length === 0) {
    if (typeof node.additionalProperties !== "object") return "{}";
    return `Record<string${stringBounds(node.propertyNames ?? {})}, ${typeText(node.additionalProperties, root, indent)}>`;
  }
  const required = new Set(node.required);
  const field = (name: string, child: Node, inner: string): string =>
    `${/^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name)}${required.has(name) ? "" : "?"}: ${typeText(child, root, inner)}`;
  const line = `{ ${entries.map(([name, child]) => field(name, child, indent)).join(", ")} }`;
  const described = entries.some(([, child]) => child.description !== undefined);
  if (!described && !line.includes("\n") && line.length + indent.length <= LINE) return line;
  const inner = `${indent}  `;
  const lines = entries.flatMap(([name, child]) => [
    ...(child.description === undefined ? [] : [`${inner}// ${oneLine(child.description)}`]),
    `${inner}${field(name, child, inner).replace(": \n", ":\n")},`,
  ]);
  return `{\n${lines.join("\n")}\n${indent}}`;
}

function stringBounds(node: Node): string {
  const length = range(node.minLength, node.maxLength);
  if (node.format !== undefined) return ` ${node.format}${length}`;
  if (node.pattern !== undefined) return ` /${node.pattern}/${length}`;
  return length;
}

function range(low: number | undefined, high: number | undefined): string {
  const from = low === undefined || low <= Number.MIN_SAFE_INTEGER ? undefined : low;
  const to = high === undefined || high >= Number.MAX_SAFE_INTEGER ? undefined : high;
  return from === undefined && to === undefined ? "" : ` (${from ?? ""}..${to ?? ""})`;
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}
