export { defineSettings, type SettingsOptions } from "../validation/settings.js";
