// node pages.cjs MODULES PAGE REPORT|TRY [ROWS]: opens a page in Chromium, uses it, and prints what it found as JSON.
"use strict";
const { readFileSync } = require("node:fs");
const { pathToFileURL } = require("node:url");

const [modules, file, kind, rows, chromiumPath] = process.argv.slice(2);
const { chromium } = require(`${modules}/playwright-core`);

const useReport = async (page) => {
  const sizes = await page.locator("section.size").count();
  const seen = [];
  const read = async () => {
    const visible = page.locator("section.size:visible");
    const tables = await visible.first().locator("table").first().innerText();
    seen.push([await page.locator(".slider output").innerText(), await visible.count(), tables]);
  };
  await read();
  await page.locator("#size").focus();
  for (let i = 1; i < sizes; i++) {
    await page.keyboard.press("ArrowLeft");
    await read();
  }
  await page.locator(".mark").last().click();
  await read();
  return { seen };
};

const useTry = async (page) => {
  const labels = await page.evaluate(
    (list) => settings.models.map(({ model }) => list.map((row) => String(model.predict([row])[0]))),
    JSON.parse(readFileSync(rows, "utf8")),
  );
  const answer = () => page.locator(".answer").innerText();
  const canvas = page.locator("canvas");
  const drawn = [];
  if (await canvas.count()) {
    const box = await canvas.boundingBox();
    const at = (x, y) => [box.x + x * box.width, box.y + y * box.height];
    const stroke = async (points) => {
      await page.mouse.move(...at(...points[0]));
      await page.mouse.down();
      for (const point of points.slice(1)) await page.mouse.move(...at(...point), { steps: 4 });
      await page.mouse.up();
    };
    const circle = Array.from({ length: 25 }, (_, i) => [0.5 + 0.2 * Math.sin(i / 4), 0.5 + 0.32 * Math.cos(i / 4)]);
    for (const points of [circle, [[0.42, 0.15], [0.55, 0.12], [0.55, 0.85]]]) {
      await page.locator("button").click();
      await stroke(points);
      drawn.push(await answer());
      const other = page.locator('input[type="radio"]');
      for (let i = (await other.count()) - 1; i >= 0; i--) {
        await other.nth(i).check();
        drawn.push(await answer());
      }
    }
  } else {
    await page.locator('input[type="range"]').first().focus();
    for (const key of ["Home", "End"]) {
      await page.keyboard.press(key);
      drawn.push(await answer());
    }
  }
  return { labels, drawn, facts: await page.locator("#facts").innerText() };
};

(async () => {
  const browser = await chromium.launch({
    executablePath: chromiumPath,
    args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"],
  });
  const address = pathToFileURL(file).href;
  const [problems, requests] = [[], []];
  const page = await browser.newPage({ viewport: { width: 1024, height: 900 } });
  page.on("console", (message) => { if (message.type() !== "log") problems.push(message.text()); });
  page.on("pageerror", (error) => problems.push(error.message));
  page.on("request", (request) => { if (!request.url().startsWith("data:")) requests.push(request.url()); });
  await page.goto(address);
  const found = kind === "report" ? await useReport(page) : await useTry(page);
  const widths = [];
  for (const width of [360, 1024, 1920]) {
    await page.setViewportSize({ width, height: 900 });
    widths.push(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth));
  }
  await page.setViewportSize({ width: 1024, height: 900 });
  const serious = [];
  for (const colorScheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme });
    await page.addScriptTag({ content: readFileSync(`${modules}/axe-core/axe.min.js`, "utf8") });
    const { violations } = await page.evaluate(() => axe.run());
    for (const v of violations) if (["serious", "critical"].includes(v.impact)) serious.push([colorScheme, v.id, v.nodes[0].html]);
  }
  await browser.close();
  const elsewhere = requests.filter((url) => typeof url === "string" && url !== address && !url.startsWith("data:"));
  process.stdout.write(JSON.stringify({ ...found, problems, elsewhere, widths, serious }));
})().catch((error) => {
  process.stderr.write(`${error.stack}\n`);
  process.exit(1);
});
