// The theme that was chosen, before anything is drawn; without a choice the system's is right.
try {
  const chosen = localStorage.getItem("vse-theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
} catch {
  // A browser that keeps nothing: the system's theme.
}
