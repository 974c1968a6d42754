/**
 * Fresh modules: the files of one worker share its process, and what node_modules has loaded; of this repository's own modules each
 * file gets new ones, with hooks and state of their own.
 */

import { vi } from "vitest";

vi.resetModules();
