// Text is set as text, never as HTML.
function render({ model, el }) {
  const add = (parent, tag, text, name) => {
    const made = document.createElement(tag);
    made.textContent = text ?? "";
    if (name) made.className = name;
    parent.append(made);
    return made;
  };
  const draw = () => {
    const shown = model.get("shown");
    const focus = el.contains(document.activeElement) ? document.activeElement.dataset.key : null;
    el.replaceChildren();
    const box = add(el, "div", null, "vse-ens-widget");
    add(box, "strong", shown.image ?? "All images are done.");
    add(box, "small", ` ${shown.number} of ${shown.total}`);
    if (shown.picture) add(box, "img").src = shown.picture;
    if (shown.image !== null) {
      add(box, "p", `labels: ${shown.labels.join(", ") || "none"}`);
      for (const { label, confidence, accepted } of shown.suggestions) {
        const button = add(box, "button", confidence === null ? label : `${label} ${Math.round(100 * confidence)} %`);
        button.dataset.key = `label ${label}`;
        button.setAttribute("aria-pressed", accepted);
        button.onclick = () => model.send({ toggle: label });
      }
    }
    const steps = add(box, "p");
    for (const [name, step] of [["Back", -1], ["Next", 1]]) {
      const button = add(steps, "button", name);
      button.dataset.key = name;
      button.disabled = step < 0 ? shown.number <= 1 : shown.image === null;
      button.onclick = () => model.send({ step });
    }
    for (const button of box.querySelectorAll("button")) if (button.dataset.key === focus) button.focus();
  };
  model.on("change:shown", draw);
  draw();
}
export default { render };
