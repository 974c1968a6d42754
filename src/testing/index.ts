/** `holdfast/testing`: what tests of durable machines and of backends need. */

export type { FaultPoint, Probe } from "../actor/commit.ts";
export type { Enclosure } from "../actor/transition.ts";
export { type FakeBackendOptions, fakeBackend, fakeComposition, type Script, type ScriptedStep } from "../backend/fake.ts";
export { memoryStore } from "../store/memory.ts";
export { type ChildEnd, killAt, runChild } from "./child.ts";
export { exerciseBackend } from "./exercise-backend.ts";
export type { BackendLack, BackendPlace, ExerciseBackendOptions } from "./exercise-backend-option.ts";
export { type ExerciseOptions, exerciseMachine } from "./exercise-machine.ts";
export type { Exercised } from "./exercise-machine-sum.ts";
export { exerciseStore, type OpenStore, type TestFramework } from "./exercise-store.ts";
export { type FaultFilter, type FaultPoints, type FaultSubject, faultPoints } from "./fault-points.ts";
export { type MemoryActorsOptions, openMemoryActors } from "./memory-actors.ts";
export type { Move } from "./path-move.ts";
export type { NamedVariant, Variant } from "./path-variant.ts";
export { type MachinePath, type MachinePaths, type PathOptions, pathsFor } from "./paths.ts";
export { purityTrap } from "./purity-trap.ts";
export { type SimulatedClock, simulatedClock } from "./simulated-clock.ts";
