// A field above folded tables shows the rows that have all words of what is typed, and no others.
document.addEventListener("input", (event) => {
  if (!event.target.matches(".finder")) return;
  const words = event.target.value.toLowerCase().split(/\s+/).filter(Boolean);
  for (const part of event.target.parentElement.querySelectorAll("details")) {
    let found = 0;
    for (const row of part.querySelectorAll("tbody tr")) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
      found += !row.hidden;
    }
    const none = words.length > 0 && found === 0;
    part.hidden = part.previousElementSibling.hidden = none; // the topic, and its heading
    part.open = words.length > 0 && found > 0;
    part.querySelector("summary").textContent = `${found} rows`;
  }
});
