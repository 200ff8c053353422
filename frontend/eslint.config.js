import jsxA11y from "eslint-plugin-jsx-a11y";
import reactHooks from "eslint-plugin-react-hooks";
import tseslint from "typescript-eslint";

// features → api, ui, lib; features do not import each other; ui → lib; api → lib.
const features = ["home", "calls", "approvals", "servers", "workspaces", "secrets", "network", "observe", "policy", "record", "doctor"];
const closed = (names, why) => ({ group: names.flatMap((n) => [`@/${n}`, `@/${n}/**`, `**/${n}/**`]), message: why });
const forbid = (...patterns) => ({ "no-restricted-imports": ["error", { patterns }] });
const above = ["shell", "app", "routes", "main"];
const tests = "**/*.test.{ts,tsx}";

export default tseslint.config(
  { ignores: ["dist", "node_modules", "src/api/types.gen.ts", "unbuilt"] },
  ...tseslint.configs.recommended,
  jsxA11y.flatConfigs.strict,
  reactHooks.configs.flat["recommended-latest"],
  {
    files: ["src/**/*.{ts,tsx}"],
    rules: {
      "@typescript-eslint/consistent-type-imports": "error",
      "@typescript-eslint/no-non-null-assertion": "off",
      "no-restricted-syntax": [
        "error",
        { selector: "JSXAttribute[name.name='dangerouslySetInnerHTML']", message: "Foreign text is rendered as text." },
        {
          selector: "AssignmentExpression[left.property.name=/^(inner|outer)HTML$/]",
          message: "Foreign text is rendered as text.",
        },
      ],
      "no-restricted-globals": ["error", { name: "fetch", message: "Only api/transport.ts speaks to the daemon." }],
    },
  },
  { files: ["src/api/transport.ts"], rules: { "no-restricted-globals": "off" } },
  {
    files: ["src/lib/**"],
    ignores: [tests],
    rules: forbid(closed(["api", "ui", "features", ...above], "lib imports nothing of ours.")),
  },
  {
    files: ["src/ui/**"],
    ignores: [tests],
    rules: forbid(closed(["api", "features", ...above], "ui imports lib only: no nouns, no fetching.")),
  },
  { files: ["src/api/**"], ignores: [tests], rules: forbid(closed(["ui", "features", ...above], "api imports lib only.")) },
  ...features.map((name) => ({
    files: [`src/features/${name}/**`],
    ignores: [tests],
    rules: forbid(
      closed(
        features.filter((f) => f !== name).map((f) => `features/${f}`),
        "Features do not import each other.",
      ),
      closed(above, "Features are joined by the shell, not the other way round."),
    ),
  })),
);
