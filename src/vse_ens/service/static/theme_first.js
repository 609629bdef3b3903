// Apply the stored theme before the first paint; without one the system's theme applies.
try {
  const chosen = localStorage.getItem("vse-theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
} catch {
  // Storage is blocked: use the system's theme.
}
