// Short names for the generated wire types (`npm run generate`).
import type { components } from "./types.gen";

type Schemas = components["schemas"];

export type Answer = Schemas["Answer"];
export type ApplyRequest = Schemas["ApplyRequest"];
export type ApplyResult = Schemas["ApplyResult"];
export type Approval = Schemas["Approval"];
export type AuditEvent = Schemas["AuditEvent"];
export type Call = Schemas["Call"];
export type CallPage = Schemas["CallPage"];
export type Change = Schemas["Change"];
export type Check = Schemas["Check"];
export type Doctor = Schemas["Doctor"];
export type Event = Schemas["Event"];
export type FileDiff = Schemas["FileDiff"];
export type Instance = Schemas["Instance"];
export type Limit = Schemas["Limit"];
export type Problem = Schemas["Problem"];
export type Progress = Schemas["Progress"];
export type Server = Schemas["Server"];
export type ServerLog = Schemas["ServerLog"];
export type Status = Schemas["Status"];
export type Tool = Schemas["Tool"];
export type Verification = Schemas["Verification"];
export type Workspace = Schemas["Workspace"];
export type WorkspaceDiff = Schemas["WorkspaceDiff"];
