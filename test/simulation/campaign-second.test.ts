/** The second share of what a test run simulates. */

import { campaign } from "./campaign.ts";

campaign("second");
